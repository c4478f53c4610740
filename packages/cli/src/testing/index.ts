// What @devtool/cli/testing exports, in this repository alone: what the tests
// of the whole need of the inside.
export { FakeTerminal } from "../../test/fake-terminal.ts";
export { withIdeCommands } from "../agents/ide-commands.ts";
export { OperatorIde } from "../agents/user-ide.ts";
export { pushListen } from "../command/push.ts";
export { readConfig } from "../config.ts";
export { discoveryPath, writeDiscovery } from "../connection/discovery.ts";
export { ideBridge } from "../ide-bridge/ide-bridge.ts";
export type { Io } from "../io.ts";
export { listenOptions } from "../listen-options.ts";
export { loginStore } from "../mcp/login-files.ts";
export { ServerMetrics } from "../metrics/server-metrics.ts";
export { runProgram } from "../program.ts";
export { BEHAVIOURS } from "../tck/behaviours.ts";
export { PROFILES } from "../tck/profile.ts";
export { createTckAgent } from "../tck/tck-agent.ts";
export { exportSpans } from "../telemetry/export-spans.ts";
export { pipedIo, runCommand } from "./run-command.ts";
