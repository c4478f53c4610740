# Plays the units of deploy/ under a systemd of their own: the manager of a user,
# which finds its system as if a systemd had started it. Prints what it sees.
#
# Run as root in namespaces: unshare --mount --pid --fork --kill-child
# --mount-proc --net bash systemd.sh NODE ROOT
set -eu
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/systemd/inaccessible /run/user
mkdir -m 000 /run/systemd/inaccessible/dir
mount -t tmpfs tmpfs /srv
mkdir -p /srv/devtool /srv/root /srv/home/.config/systemd/user
mkdir -m 700 /srv/runtime
# The units hide /tmp and homes, where these may be.
mount --bind "$2" /srv/root
touch /srv/node
mount --bind "$1" /srv/node
ip link set lo up

export HOME=/srv/home XDG_RUNTIME_DIR=/srv/runtime
unset XDG_CONFIG_HOME XDG_STATE_HOME NODE_OPTIONS
units=$HOME/.config/systemd/user
cp "$2/deploy/devtool.socket" "$units/"
# The manager of a user starts everything as that user.
sed -e "s#/usr/bin/devtool#/srv/node /srv/root/packages/cli/dist/main.js#" \
  -e "s#/var/lib/devtool#%S/devtool#" -e "/^User=/d" \
  "$2/deploy/devtool.service" > "$units/devtool.service"

property() {
  systemctl --user show devtool.service -p "$1" --value
}
say() {
  echo "$1: $(property ActiveState), started again $(property NRestarts) times"
}
until_active() {
  until [ "$(property ActiveState)" = active ]; do sleep 0.1; done
}
ready() {
  /srv/node -e 'fetch("http://127.0.0.1:41242/readyz").then(({ status }) => console.log(`ready: ${status}`))'
}

/lib/systemd/systemd --user &
until systemctl --user list-units > /dev/null 2>&1; do sleep 0.1; done
systemctl --user start devtool.socket
say "socket alone"
ready
until_active
say "after a request"
kill -9 "$(property MainPID)"
until [ "$(property NRestarts)" = 1 ]; do sleep 0.1; done
ready
until_active
say "after kill -9"
# Its socket stays, so that systemd still knows how it ended.
systemctl --user stop devtool.service 2> /dev/null
say "stopped"
echo "result: $(property Result), $(property ExecMainStatus)"
