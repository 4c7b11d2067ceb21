# Reads a server.toml without Python, because at this point a front's image has no Python. To be sourced.
# Understands lines of the forms `NAME = "WORD"` and `NAME = ["WORD", "WORD"]`.

entry() { # FILE NAME: prints the words of a field, nothing if it is missing
    sed -n "/^$2 = /{s///;s/[][\",]//g;p;}" "$1"
}

pinned() { # FILE: prints the server's packages as PACKAGE=VERSION, for apt-get
    for package in $(entry "$1" packages); do printf '%s=%s\n' "$package" "$(entry "$1" image_version)"; done
}
