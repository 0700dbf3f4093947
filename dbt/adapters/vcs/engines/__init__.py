"""Where rows are computed: a port, and the engines that implement it."""
