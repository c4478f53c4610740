// The names of @devtool/server/operator: parts of a server for the command,
// which is a bundle. Not part of the published package.

export { openStore } from "./assembly/open-store.ts";
export { assertOperator, OPERATOR } from "./handler/caller.ts";
export { keyFile } from "./keys/key-file.ts";
export { type KeyState, SigningKeys } from "./keys/signing-keys.ts";
export { assertSafeExposure } from "./server-access.ts";
export {
  restoreBackup,
  verifyBackup,
  writeBackup,
} from "./store/backup.ts";
export { copyStore } from "./store/copy-store.ts";
export { isStore, missingOf } from "./store/whole-store.ts";
export { PROOF_BYTES, serverProof } from "./transport/http/server-proof.ts";
