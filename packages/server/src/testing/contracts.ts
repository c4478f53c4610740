// The names of @devtool/server/testing/contracts: the tests that every store
// passes. Loads the test runner.
export {
  type OpenedPushConfigStore,
  testPushConfigStore,
} from "../store/push-config-store.contract.ts";
export { testTaskStore } from "../store/task-store.contract.ts";
export { created, eventsOf, labeled, text } from "./task-events.ts";
