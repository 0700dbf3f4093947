"""Text about why things are as they are: what broke one, what one was computed for."""
