"""SQL texts that change or read a branch: text in, frozen statement out, nothing else touched."""
