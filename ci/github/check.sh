#!/usr/bin/env bash
# The check of the GitHub action. All input comes in environment variables, so that no text of a workflow is ever part of a script.
# It must run in bash 3.2 with the BSD tools of macOS, too.
set -euo pipefail

# Shows as an annotation and in the job summary why nothing was checked. An indented block is no Markdown.
annotate() {
  {
    printf '### imgcheck checked nothing\n\n'
    printf '%s\n' "$1" | sed 's/^/    /'
  } >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  local text=$1
  text=${text//%/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::error title=imgcheck::%s\n' "$text"
}

wrong() {
  annotate "$1"
  echo "verdict=error" >>"$GITHUB_OUTPUT"
  exit 2
}

command=check inputs=$IMAGES
if [[ $FILES == *[![:space:]]* ]]; then
  [[ $IMAGES != *[![:space:]]* ]] || wrong "\`image\` and \`lint\` belong in two steps: lint before the build, and check the image after it"
  command=lint inputs=$FILES
fi

[[ $inputs == *[![:space:]]* ]] || wrong "nothing to check: set the input \`image\` (images, one a line), or \`lint\` (files or directories to check before the build)"

directory=$(mktemp -d "$RUNNER_TEMP/imgcheck.XXXXXX")
report=$directory/report.json
arguments=(--format "$FORMAT" -o "json=$report")
[[ -z $FAIL_ON ]] || arguments+=(--fail-on "$FAIL_ON")
[[ -z $SARIF_FILE ]] || arguments+=(-o "sarif=$SARIF_FILE")
# Words of `args`: split and quoted as in a shell, nothing expanded. Without any, GNU's xargs would make an empty one.
if [[ $ARGS == *[![:space:]]* ]]; then
  xargs printf '%s\0' <<<"$ARGS" >"$directory/words" || wrong "\`args\` cannot be split into words: $ARGS"
  while IFS= read -r -d '' word; do
    arguments+=("$word")
  done <"$directory/words"
fi

paths=()
while read -r line; do
  line=${line%$'\r'}
  [[ -z $line ]] || paths+=("$line")
done <<<"$inputs"

status=0
{
  imgcheck "$command" "${arguments[@]}" -- "${paths[@]}" 2>&1 >&3 | tee "$directory/messages" >&2
} 3>&1 || status=$?

# Without a report nothing was checked, whatever the exit code: `--help` among the arguments.
if [[ ! -e $report ]]; then
  [[ $status -ge 2 ]] || status=2
  message=$(sed -n '/^error/,$ p' "$directory/messages")
  annotate "${message:-error: imgcheck wrote no report}"
fi
case $status in
  0) verdict=pass ;;
  1) verdict=fail ;;
  *) verdict=error ;; # an image that cannot be read, or a setting that is wrong: never a pass
esac
echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
[[ ! -e $report ]] || echo "report=$report" >>"$GITHUB_OUTPUT"
exit "$status"
