// The names of @devtool/server/testing/contracts: the tests that every store
// passes. Loads the test runner.
export { testPushConfigStore } from "./push-config-store.contract.ts";
export { testSharedStore } from "./shared-store.contract.ts";
export { testTaskStore } from "./task-store.contract.ts";
