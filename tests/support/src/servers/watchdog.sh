# Runs one server for one test process, and outlives that process just long enough to clean up.
#
# The test process holds the other end of our standard input. However it ends, kill -9 included, the pipe closes,
# `read` fails, the server is killed by its pid and its folder removed. Until then each line we read is an order,
# and each order is answered with one line.
#
# Environment: folder (the server's own), port, program, prepare and serve (shell text; `serve` must exec the
# server). What `prepare` has mounted on $folder/disk can be filled, and is unmounted in the end.
PATH=$PATH:/usr/sbin:/sbin
server=

end() {
    [ -n "$server" ] || return 0
    kill -9 "$server"
    wait "$server"
    server=
} 2>/dev/null

while read -r order; do
    case $order in
    find) if command -v "$program" >/dev/null; then echo found; else echo missing; fi ;;
    prepare) if sh -ec "$prepare" >>"$folder/log" 2>&1 </dev/null; then echo prepared; else echo failed; fi ;;
    start)
        sh -c "$serve" >>"$folder/log" 2>&1 </dev/null &
        server=$!
        echo "$server"
        ;;
    kill)
        end
        echo killed
        ;;
    # `cat` ends because there is no room left.
    fill) if cat /dev/zero >>"$folder/disk/filler" 2>>"$folder/log"; then echo endless; else echo filled; fi ;;
    free)
        rm -f "$folder/disk/filler"
        echo free
        ;;
    esac
done

end
umount -l "$folder/disk" 2>/dev/null
rm -rf "$folder"
