// What @devtool/server/operator exports: how far a server is open, the file that keeps its tasks, what a crash may cut, and how it proves who it is, for the tools of an operator.
export { failpoint } from "./failpoint.ts";
export { isOtherProcess } from "./other-process.ts";
export { assertSafeExposure } from "./server-access.ts";
export { SqliteTaskStore } from "./store/sqlite-task-store.ts";
export { PROOF_BYTES, type ServerSecrets, serverProof } from "./transport/http/server-proof.ts";
