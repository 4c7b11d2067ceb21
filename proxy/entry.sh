# The catalogue without Python, to be sourced: the image of a front is made before there is any in it.
# What it reads of a server.toml are lines `NAME = "WORD"` and `NAME = ["WORD", "WORD"]`.

entry() { # FILE NAME: the words of a field, none where there is no such field
    sed -n "/^$2 = /{s///;s/[][\",]//g;p;}" "$1"
}

pinned() { # FILE: the server's packages as apt-get takes them, of the version that images have
    for package in $(entry "$1" packages); do printf '%s=%s\n' "$package" "$(entry "$1" image_version)"; done
}
