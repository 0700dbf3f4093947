"""Commands that read history."""
