/**
 * A command that a shell of the system runs: `/bin/bash -lc 'ls'`. A program
 * elsewhere may only have a shell's name.
 */
const SHELL_COMMAND =
  /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|z|da)?sh -l?c (?<script>.+)$/s;
/**
 * A word in single quotes, in which a quote is written as `'"'"'` or `'\''`.
 */
const QUOTED = /^'(?:[^']|'"'"'|'\\'')*'$/s;
/** A word that needs no quotes. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * Returns the script of a command that Codex runs in a shell, as the user knows
 * it: `ls` for `/bin/bash -lc 'ls'`.
 *
 * Any command that is not certain to be such a script is returned as it is, so
 * that users approve what runs.
 */
export function scriptOf(command: string): string {
  const script = SHELL_COMMAND.exec(command)?.groups?.script ?? "";
  if (PLAIN.test(script)) return script;
  if (!QUOTED.test(script)) return command;
  return script.slice(1, -1).replaceAll(`'"'"'`, "'").replaceAll(`'\\''`, "'");
}
