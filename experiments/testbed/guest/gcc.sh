#!/bin/sh
# gcc(1) for the guest kernel with precompiled headers: the headers that most files include are compiled once.
#
# The kernel's Makefiles call it in the source's folder, in place of gcc. Without it the build takes twice the processor
# time, because most of the time goes into headers. If a file does not compile with them, gcc compiles it as usual.
# Files of User-Mode Linux that run on the host do not include these headers, nor do assembler files.
#
# The dependency file of each object names its source alone: nobody edits this tree.

headers=.priolab-headers.h

# Writes the definitions that differ by file into a header: given with -D, gcc would refuse the precompiled headers.
names() {
    for word; do
        case $word in
        -D*KBUILD_*=*)
            definition=${word#-D}
            printf '#undef %s\n#define %s %s\n' "${definition%%=*}" "${definition%%=*}" "${definition#*=}"
            ;;
        esac
    done
}

# `with compiled "$@"` compiles a file with the precompiled headers; `with headers "$@"` compiles these headers.
with() {
    what=$1 previous="" output="" source="" dependencies=""
    shift
    names "$@" >"$headers.$$"
    for word; do
        shift
        case $previous$word in
        -include) ;;
        -include./include/linux/compiler-version.h | -include./include/linux/kconfig.h) ;;
        -include./include/linux/compiler_types.h) ;;
        -include*) set -- "$@" -include "$word" ;;
        -o?*) output=$word ;;
        -o | -c | -D*KBUILD_*=*) ;;
        -Wp,-MMD,* | -Wp,-MD,*) dependencies=${word#*,*,} ;;
        *.c) source=$word ;;
        *) set -- "$@" "$word" ;;
        esac
        case $word in
        -include | -o) previous=$word ;;
        *) previous="" ;;
        esac
    done
    if [ "$what" = headers ]; then
        gcc "$@" -x c-header -o "$headers.made" "$headers" && mv "$headers.made" "$headers.gch"
    else
        gcc -include "$headers" -include "$headers.$$" -Winvalid-pch -Werror=invalid-pch "$@" -c -o "$output" "$source" &&
            printf '%s: %s\n' "$output" "$source" >"$dependencies"
    fi
    status=$?
    rm -f "$headers.$$"
    return $status
}

case " $* " in
*" -c "*" scripts/"*.c*) ;; # the kernel's build tools are compiled first, before all headers exist
*" -include ./include/linux/compiler_types.h "*" -c "*.c*)
    if [ ! -e $headers.gch ] && mkdir $headers.tried 2>/dev/null; then
        with headers "$@" 2>/dev/null || true
    fi
    if [ -e $headers.gch ] && with compiled "$@" 2>/dev/null; then
        exit 0
    fi
    ;;
esac
exec gcc "$@"
