# SPDX-License-Identifier: MIT
# fish completion for ryefs(1)

function __ryefs_first
    test (count (commandline -opc)) -eq 1
end

function __ryefs_verb
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

function __ryefs_refs
    ryefs complete -- (commandline -ct) 2>/dev/null
end

function __ryefs_member
    ryefs $argv[2..-1] --json -q 2>/dev/null | string match -ra '"'$argv[1]'": *"([^"]*)"' | string match -rv '"'
end

complete -c ryefs -n __ryefs_first -a mount -d 'show a workspace at a mountpoint'
complete -c ryefs -n __ryefs_first -a completion -d 'print the completion of a shell'
complete -c ryefs -n __ryefs_first -a diff -d 'show what changed since signing'
complete -c ryefs -n __ryefs_first -a doctor -d 'say what is wrong and what mends it'
complete -c ryefs -n __ryefs_first -a edit -d 'change an item in your editor'
complete -c ryefs -n __ryefs_first -a execute -d 'run a tool, follow a directive'
complete -c ryefs -n __ryefs_first -a fetch -d 'print or copy an item'
complete -c ryefs -n __ryefs_first -a init -d 'make a workspace'
complete -c ryefs -n __ryefs_first -a keygen -d 'make your signing key'
complete -c ryefs -n __ryefs_first -a keys -d 'list keys'
complete -c ryefs -n __ryefs_first -a link -d 'Let clients find verified skills'
complete -c ryefs -n __ryefs_first -a list -d 'list your mounts'
complete -c ryefs -n __ryefs_first -a log -d 'who signed an item, and when'
complete -c ryefs -n __ryefs_first -a mcp -d 'be an MCP server, make items of others'
complete -c ryefs -n __ryefs_first -a mv -d 'give an item another id'
complete -c ryefs -n __ryefs_first -a new -d 'begin an item'
complete -c ryefs -n __ryefs_first -a node -d 'let other machines send runs here'
complete -c ryefs -n __ryefs_first -a reload -d 'have a mount taken over by the program as it is now'
complete -c ryefs -n __ryefs_first -a remote -d 'machines that runs may go to'
complete -c ryefs -n __ryefs_first -a rm -d 'take an item away'
complete -c ryefs -n __ryefs_first -a search -d 'find items'
complete -c ryefs -n __ryefs_first -a schema -d 'JSON Schemas for editors'
complete -c ryefs -n __ryefs_first -a secret -d 'values for items that ask'
complete -c ryefs -n __ryefs_first -a sign -d 'sign items'
complete -c ryefs -n __ryefs_first -a skill -d 'Agent Skills, verified'
complete -c ryefs -n __ryefs_first -a threads -d 'runs that go on by themselves'
complete -c ryefs -n __ryefs_first -a trust -d 'trust a key'
complete -c ryefs -n __ryefs_first -a umount -d 'end a mount'
complete -c ryefs -n __ryefs_first -a untrust -d 'stop trusting a key'
complete -c ryefs -n __ryefs_first -a verify -d 'check signatures'
complete -c ryefs -n __ryefs_first -a watch -d 'sign what you save'

complete -c ryefs -n '__ryefs_verb threads' -fa 'list show tail wait tree cost apply cancel kill delete forget prune say limit handoff resume verify (__ryefs_member id threads)'
complete -c ryefs -n '__ryefs_verb completion' -fa 'bash fish zsh'
complete -c ryefs -n '__ryefs_verb diff edit execute fetch log mv rm sign verify watch' -fa '(__ryefs_refs)'
complete -c ryefs -n '__ryefs_verb mcp' -fa 'serve add list refresh remove (__ryefs_member name mcp list)'
complete -c ryefs -n '__ryefs_verb node' -fa 'init admit list remove gc (__ryefs_member fingerprint node list)'
complete -c ryefs -n '__ryefs_verb remote' -fa 'list add status push diff pull gc rm (__ryefs_member name remote list)'
complete -c ryefs -n '__ryefs_verb new' -fa 'tool directive knowledge skill graph http mcp'
complete -c ryefs -n '__ryefs_verb secret' -fa 'set list rm (__ryefs_member name secret list)'
complete -c ryefs -n '__ryefs_verb untrust' -fa '(__ryefs_member fingerprint keys)'
complete -c ryefs -n '__ryefs_verb reload umount' -fa "(awk '/ - fuse\.ryefs / {print \$5}' /proc/self/mountinfo)"

complete -c ryefs -n 'not __ryefs_first' -l project -rFa '(__fish_complete_directories)' -d 'parent of .ai'
complete -c ryefs -n 'not __ryefs_first' -l user -rFa '(__fish_complete_directories)' -d 'parent of your own .ai'
complete -c ryefs -n 'not __ryefs_first' -l system -r -d "parents of the bundles' .ai"
complete -c ryefs -n 'not __ryefs_first' -l env -r -d 'variables that items may read'
complete -c ryefs -n 'not __ryefs_first' -l compat -d 'accept items without a binding line'
complete -c ryefs -n 'not __ryefs_first' -l venv -d 'let project tools use .venv'
complete -c ryefs -n 'not __ryefs_first' -l color -xa 'auto always never'
complete -c ryefs -n 'not __ryefs_first' -l json -d 'one JSON value'
complete -c ryefs -n 'not __ryefs_first' -s q -l quiet -d 'no remarks'
complete -c ryefs -n 'not __ryefs_first' -s h -l help -d 'help of the verb'
complete -c ryefs -n '__ryefs_verb execute' -l async -d 'as a thread'
complete -c ryefs -n '__ryefs_verb execute' -s n -l dry-run -d 'check only'
complete -c ryefs -n '__ryefs_verb execute' -l target -x -d 'where it runs: remote:NAME'
complete -c ryefs -n '__ryefs_verb execute' -l fork -d 'let a model work through it'
complete -c ryefs -n '__ryefs_verb execute' -l output -d 'plain output'
complete -c ryefs -n '__ryefs_verb execute' -l trace -d 'tell how it was resolved'
complete -c ryefs -n '__ryefs_verb fetch' -l from -xa 'project user system'
complete -c ryefs -n '__ryefs_verb fetch' -l to -xa 'project user'
complete -c ryefs -n '__ryefs_verb fetch keygen' -s f -l force
complete -c ryefs -n '__ryefs_verb init' -l hooks
complete -c ryefs -n '__ryefs_verb init' -l sample
complete -c ryefs -n '__ryefs_verb init' -l vscode
complete -c ryefs -n '__ryefs_verb schema' -fa '(__ryefs_member name schema)'
complete -c ryefs -n '__ryefs_verb schema' -l editor -xa 'helix neovim vscode'
complete -c ryefs -n '__ryefs_verb mcp' -l http -d 'listen on this machine'
complete -c ryefs -n '__ryefs_verb mcp' -l port -x
complete -c ryefs -n '__ryefs_verb mcp' -l token -rF -d 'file that keeps it, or none'
complete -c ryefs -n '__ryefs_verb mcp' -l unix -rF -d 'listen on a socket there'
complete -c ryefs -n '__ryefs_verb mcp' -l read-only -d 'find and read only'
complete -c ryefs -n '__ryefs_verb mcp' -l allow-sign -d 'let clients sign'
complete -c ryefs -n '__ryefs_verb mcp' -l aliases
complete -c ryefs -n '__ryefs_verb mcp' -l no-prompts
complete -c ryefs -n '__ryefs_verb mcp' -l no-resources
complete -c ryefs -n '__ryefs_verb log search' -l limit -x
complete -c ryefs -n '__ryefs_verb sign' -s a -l all
complete -c ryefs -n '__ryefs_verb remote' -s f -l force -d 'push over another push'
complete -c ryefs -n '__ryefs_verb sign' -s f -l force
complete -c ryefs -n '__ryefs_verb sign' -s i -l interactive
complete -c ryefs -n '__ryefs_verb sign' -l take-over
complete -c ryefs -n '__ryefs_verb node remote' -s n -l dry-run -d 'gc: say what would go'
complete -c ryefs -n '__ryefs_verb mv rm' -s n -l dry-run -d 'say what would be done'
complete -c ryefs -n '__ryefs_verb new' -s n -l dry-run -d 'print the text alone'
complete -c ryefs -n '__ryefs_verb new' -l lang -xa 'python shell javascript typescript yaml perl'
complete -c ryefs -n '__ryefs_verb link' -l client -xa 'claude codex copilot cursor gemini opencode agents'
complete -c ryefs -n '__ryefs_verb link' -l each
complete -c ryefs -n '__ryefs_verb skill' -fa 'list add update diff export remove (__ryefs_member name skill list)'
complete -c ryefs -n '__ryefs_verb skill' -l as -x
complete -c ryefs -n '__ryefs_verb skill' -l check
complete -c ryefs -n '__ryefs_verb skill' -l expect -x
complete -c ryefs -n '__ryefs_verb skill' -l frozen
complete -c ryefs -n '__ryefs_verb skill' -l signer -x
complete -c ryefs -n '__ryefs_verb skill' -l with-deps
complete -c ryefs -n '__ryefs_verb edit log mcp mv new rm sign skill' -l space -xa 'project user'
complete -c ryefs -n '__ryefs_verb keygen' -l forget-secrets
complete -c ryefs -n '__ryefs_verb threads' -l running -d 'not ended'
complete -c ryefs -n '__ryefs_verb threads' -l since -x
complete -c ryefs -n '__ryefs_verb threads' -l of -xa '(__ryefs_refs)'
complete -c ryefs -n '__ryefs_verb threads' -l older -x
complete -c ryefs -n '__ryefs_verb edit mcp remote rm skill threads trust' -s y -l yes
complete -c ryefs -n '__ryefs_verb trust' -l scope -x -d 'for this alone'
complete -c ryefs -n '__ryefs_verb verify' -l changed-since -xa "(git for-each-ref --format='%(refname:short)' 2>/dev/null)" -d 'what git says was changed'
complete -c ryefs -n '__ryefs_verb verify' -l sarif -d 'for code hosts'
complete -c ryefs -n '__ryefs_verb watch' -l run -d 'run what was signed'
complete -c ryefs -n '__ryefs_verb node trust keygen' -l owner -x
complete -c ryefs -n '__ryefs_verb node' -l as -x -d 'for one key alone'
complete -c ryefs -n '__ryefs_verb node' -l dir -rFa '(__fish_complete_directories)' -d 'of the node'
complete -c ryefs -n '__ryefs_verb node' -l stdio -d 'be the node'
complete -c ryefs -n '__ryefs_verb node' -l http -d 'listen on this machine'
complete -c ryefs -n '__ryefs_verb node' -l work -d 'be a worker more'
complete -c ryefs -n '__ryefs_verb node' -l port -x -d 'with --http: which'
complete -c ryefs -n '__ryefs_verb remote' -l again -d 'look at the key anew'
