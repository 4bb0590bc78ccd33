//! RunPod's templates.

use serde_json::json;

use super::Case;

/// RunPod's templates: `start.sh`.
pub fn runpod() -> Case {
    let start = r#"#!/bin/bash
set -e

start_nginx() {
    echo "nginx"
    service nginx start
}

execute_script() {
    local script_path=$1
    local script_msg=$2
    if [[ -f ${script_path} ]]; then
        echo "${script_msg}"
        bash ${script_path}
    fi
}

setup_ssh() {
    if [[ $PUBLIC_KEY ]]; then
        mkdir -p ~/.ssh
        echo "$PUBLIC_KEY" >> ~/.ssh/authorized_keys
        chmod 700 -R ~/.ssh
        if [ ! -f /etc/ssh/ssh_host_ed25519_key ]; then
            ssh-keygen -t ed25519 -f /etc/ssh/ssh_host_ed25519_key -q -N ''
        fi
        service ssh start
        for key in /etc/ssh/*.pub; do
            echo "Key: $key"
            ssh-keygen -lf $key
        done
    fi
}

export_env_vars() {
    printenv | grep -E '^RUNPOD_|^PATH=|^_=' | awk -F = '{ print "export " $1 "=\"" $2 "\"" }' >> /etc/rp_environment
    echo 'source /etc/rp_environment' >> ~/.bashrc
}

start_jupyter() {
    if [[ $JUPYTER_PASSWORD ]]; then
        mkdir -p /workspace && \
        cd / && \
        nohup python3 -m jupyter lab --allow-root --no-browser --port=8888 --ip=* --ServerApp.terminado_settings='{"shell_command":["/bin/bash"]}' --ServerApp.token=$JUPYTER_PASSWORD &> /jupyter.log &
        echo "started"
    fi
}

start_nginx
execute_script "/pre_start.sh" "pre-start"
echo "Pod Started"
setup_ssh
start_jupyter
export_env_vars
execute_script "/post_start.sh" "post-start"
echo "ready"
sleep infinity
"#;
    let service = r#"#!/bin/sh
is_ignored_file() {
	case "$1" in
		skeleton | README | *.dpkg-dist | *.dpkg-old | rc | rcS | single | reboot | bootclean.sh)
			return 0
		;;
	esac
	return 1
}
USAGE="Usage: $(basename $0) <service> <action>"
SERVICE=
ACTION=
SERVICEDIR="/etc/init.d"
OPTIONS=
if [ $# -eq 0 ]; then
   echo "${USAGE}" >&2
   exit 1
fi
cd /
while [ $# -gt 0 ]; do
  case "${1}" in
    --help | -h | --h* ) echo "${USAGE}" >&2; exit 0 ;;
    *)
       if [ -z "${SERVICE}" -a $# -eq 1 -a "${1}" = "--status-all" ]; then
          exit 0
       elif [ -z "${SERVICE}" ]; then
         SERVICE="${1}"
       elif [ -z "${ACTION}" ]; then
         ACTION="${1}"
       else
         OPTIONS="${OPTIONS} ${1}"
       fi
       shift
       ;;
   esac
done
run_via_sysvinit() {
   if [ -x "${SERVICEDIR}/${SERVICE}" ]; then
      exec env -i LANG="$LANG" PATH="$PATH" TERM="$TERM" "$SERVICEDIR/$SERVICE" ${ACTION} ${OPTIONS}
   else
      echo "${SERVICE}: unrecognized service" >&2
      exit 1
   fi
}
is_systemd=
if [ -d /run/systemd/system ]; then
   is_systemd=1
fi
if [ -n "$is_systemd" ]; then
   exec systemctl ${ACTION} "${SERVICE}.service"
fi
run_via_sysvinit
"#;
    let nginx = r#"#!/bin/sh
PATH=/sbin:/usr/sbin:/bin:/usr/bin:/usr/local/sbin:/usr/local/bin
DAEMON=/usr/sbin/nginx
NAME=nginx
if [ -r /etc/default/nginx ]; then
	. /etc/default/nginx
fi
STOP_SCHEDULE="${STOP_SCHEDULE:-QUIT/5/TERM/5/KILL/5}"
test -x $DAEMON || exit 0
. /lib/init/vars.sh
PID=/run/nginx.pid
start_nginx() {
	start-stop-daemon --start --quiet --pidfile $PID --exec $DAEMON --test > /dev/null \
		|| return 1
	start-stop-daemon --start --quiet --pidfile $PID --exec $DAEMON -- \
		$DAEMON_OPTS 2>/dev/null \
		|| return 2
}
case "$1" in
	start)
		start_nginx
		case "$?" in
			0|1) echo started ;;
			2)   echo failed ;;
		esac
		;;
	*)
		echo "Usage: $NAME {start|stop}" >&2
		exit 3
		;;
esac
"#;
    Case {
        name: "RunPod",
        config: json!({"Cmd": ["/start.sh"], "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}),
        files: vec![
            ("start.sh", start),
            ("usr/sbin/service", service),
            ("etc/init.d/nginx", nginx),
            ("lib/init/vars.sh", "VERBOSE=no\nexport VERBOSE\n"),
            (
                "pre_start.sh",
                "#!/bin/bash\nexport HF_HOME=/workspace/hf\necho before\n",
            ),
        ],
        programs: vec![
            "usr/sbin/nginx",
            "usr/sbin/start-stop-daemon",
            "usr/bin/pip",
        ],
        starts: vec!["sleep", "infinity"],
        environment: vec![],
        hostile: (
            "post_start.sh",
            "#!/bin/bash\npip install --upgrade torch\n",
            "pip",
        ),
    }
}
