#!/bin/bash
# workerd with V8_FLAGS (separated by blanks) in the configuration that miniflare hands it on standard
# input. Miniflare does this itself from 4.20260722.1 on, which needs Node 22.
here=$(dirname "$0")
# exec: what miniflare has started, and will end, is workerd.
exec "$here/../../node_modules/.bin/workerd" "$@" < <(node "$here/v8_flags.mjs" ${V8_FLAGS:?})
