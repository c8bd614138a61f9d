# Runs one server for one test process, and outlives that process just long enough to clean up.
#
# The test process holds the other end of our standard input. However it ends, kill -9 included, the pipe closes, `read` fails, the server
# is killed by its pid and its folder removed. Until then each line we read is an order, and each order is answered with one line.
#
# Environment: folder (the server's own), port, program, prepare and serve (shell text; `serve` must exec the server).
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
    esac
done

end
rm -rf "$folder"
