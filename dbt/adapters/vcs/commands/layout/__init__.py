"""Lines and grids of styled text for terminals, files and logs."""
