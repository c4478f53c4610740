// The names of @devtool/server/testing/contracts: the tests that every store passes. Loads the test runner.
export { type OpenedPushConfigStore, testPushConfigStore } from "../store/push-config-store.contract.ts";
export { created, eventsOf, labeled, testTaskStore, text } from "../store/task-store.contract.ts";
