# Completion of ringwatch for fish: ringwatch completion fish > ~/.config/fish/completions/ringwatch.fish
function __ringwatch_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete fish $words[2..-1] (commandline -ct | string unescape) 2>/dev/null)
    if test "$found" = ":files"
        __fish_complete_path (commandline -ct)
    else if set -q found[1]
        printf '%s\n' $found
    end
end
complete -c ringwatch -f -a '(__ringwatch_complete)'
