# Completion of ringwatch for bash: source <(ringwatch completion bash)
_ringwatch() {
	local found
	COMPREPLY=()
	while IFS= read -r found; do
		if [ "$found" = ":files" ]; then
			compopt -o default 2>/dev/null
			return
		fi
		COMPREPLY+=("$found")
	done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _ringwatch ringwatch
