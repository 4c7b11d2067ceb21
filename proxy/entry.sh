# Reads the catalogue without Python; to be sourced. A front's image needs it before Python is installed.
# It understands the lines `NAME = "WORD"` and `NAME = ["WORD", "WORD"]` of a server.toml.

entry() { # FILE NAME: the words of a field, none if the field is missing
    sed -n "/^$2 = /{s///;s/[][\",]//g;p;}" "$1"
}

pinned() { # FILE: the server's packages with their version in images, as apt-get takes them
    for package in $(entry "$1" packages); do printf '%s=%s\n' "$package" "$(entry "$1" image_version)"; done
}
