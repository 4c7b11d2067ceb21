#!/bin/sh
# gcc(1) for the guest kernel: the headers that most of its files read are compiled once, for all of them.
#
# The kernel's Makefiles call it in the folder of the source, as they would call gcc. Most of a file's time goes into
# headers, and without this the build takes twice the processor time. A file that does not compile this way is compiled
# as ever. Files of the guest's own half that runs on the host do not read these headers, and neither do assembler's.
#
# Each file's dependencies are told as its source alone: nobody edits this tree.

headers=.priolab-headers.h

# What follows -D for every file anew: gcc takes no compiled headers where these are defined on its command line.
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

# gcc with the compiled headers: compiled "$@" compiles the file of these arguments, headers "$@" the headers for it.
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
*" -c "*" scripts/"*.c*) ;; # the kernel's own tools come first, when the headers are not complete yet
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
