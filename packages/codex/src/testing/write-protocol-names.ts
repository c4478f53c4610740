/**
 * Writes the names in the protocol of the app-server of codex to
 * `protocol-names.json`.
 *
 * `pnpm codex-protocol [PROGRAM]` asks PROGRAM, by default the `codex` in PATH,
 * for its JSON Schema. `test/codex/docs.test.ts` then names what
 * `docs/codex.md` does not mention.
 */
import { writeFileSync } from "node:fs";
import { readProtocolNames } from "./protocol-names.ts";

const [program = "codex"] = process.argv.slice(2);
const names = JSON.stringify(readProtocolNames(program), undefined, 2);
writeFileSync(new URL("./protocol-names.json", import.meta.url), `${names}\n`);
