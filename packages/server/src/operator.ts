// The public names of @devtool/server/operator: parts of a server for the
// command line and other tools of its operator.

export { openStore } from "./assembly/open-store.ts";
export { assertSafeExposure } from "./server-access.ts";
export { copyStore } from "./store/copy-store.ts";
export { SqliteTaskStore } from "./store/sqlite-task-store.ts";
export { PROOF_BYTES, serverProof } from "./transport/http/server-proof.ts";
