// The names of @devtool/server/testing/contracts: the tests that every store
// passes. Loads the test runner.
export {
  type OpenedPushConfigStore,
  testPushConfigStore,
} from "./push-config-store.contract.ts";
export {
  type SharedStore,
  type SharedStoreGround,
  testSharedStore,
} from "./shared-store.contract.ts";
export { created, eventsOf, labeled, text } from "./task-events.ts";
export { testTaskStore } from "./task-store.contract.ts";
