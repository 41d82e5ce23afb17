#compdef ringwatch
# Completion of ringwatch for zsh: ringwatch completion zsh > ~/.zfunc/_ringwatch, with ~/.zfunc in
# fpath before compinit; or, after compinit, source <(ringwatch completion zsh).
_ringwatch() {
	local tab=$'\t' line about output
	local -a before texts shown
	before=("${(@Q)words[1,CURRENT-1]}")
	output=$("${before[1]/#\~/$HOME}" __complete zsh "${(@)before[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)
	for line in ${(f)output}; do
		if [[ $line == :files ]]; then
			_files
			return
		fi
		about=${line#*$tab}
		texts+=("${line%%$tab*}")
		shown+=("${line%%$tab*}${about:+  -- $about}")
	done
	compadd -l -d shown -- "${texts[@]}"
}
if [[ $funcstack[1] == _ringwatch ]]; then
	_ringwatch "$@"
else
	compdef _ringwatch ringwatch
fi
