#!/usr/bin/env bash
# The check of the GitHub action. All input comes in environment variables, so that no text of a workflow is ever part of a script.
set -euo pipefail

wrong() {
  echo "error: $1" >&2
  echo "verdict=error" >>"$GITHUB_OUTPUT"
  exit 2
}

command=check inputs=$IMAGES
if [[ $FILES == *[![:space:]]* ]]; then
  [[ $IMAGES != *[![:space:]]* ]] || wrong "\`image\` and \`lint\` belong in two steps: lint before the build, and check the image after it"
  command=lint inputs=$FILES
fi

[[ $inputs == *[![:space:]]* ]] || wrong "nothing to check: set the input \`image\` (images, one a line), or \`lint\` (files or directories to check before the build)"

arguments=()
[[ -z $FAIL_ON ]] || arguments+=(--fail-on "$FAIL_ON")
[[ -z $SARIF_FILE ]] || arguments+=(-o "sarif=$SARIF_FILE")
# Words of `args`: split and quoted as in a shell, nothing expanded.
words=$(mktemp "$RUNNER_TEMP/imgcheck.XXXXXX")
if ! xargs --no-run-if-empty printf '%s\0' <<<"$ARGS" >"$words"; then
  wrong "\`args\` cannot be split into words: $ARGS"
fi
mapfile -d '' -t -O "${#arguments[@]}" arguments <"$words"

paths=()
while read -r line; do
  line=${line%$'\r'}
  [[ -z $line ]] || paths+=("$line")
done <<<"$inputs"

report=$(mktemp -d "$RUNNER_TEMP/imgcheck.XXXXXX")/report.json
status=0
imgcheck "$command" --format "$FORMAT" -o "json=$report" "${arguments[@]}" -- "${paths[@]}" || status=$?

# Without a report nothing was checked, whatever the exit code: `--help` among the arguments.
if [[ ! -e $report && $status -lt 2 ]]; then
  echo 'error: imgcheck checked nothing' >&2
  status=2
fi
case $status in
  0) verdict=pass ;;
  1) verdict=fail ;;
  *) verdict=error ;; # an image that cannot be read, or a setting that is wrong: never a pass
esac
echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
[[ ! -e $report ]] || echo "report=$report" >>"$GITHUB_OUTPUT"
exit "$status"
