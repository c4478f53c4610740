import type { JsonValue } from "@bufbuild/protobuf";
import a2aAccess from "./server-a2a-v1/a2a-access.json" with { type: "json" };
import a2aCard from "./server-a2a-v1/a2a-card.json" with { type: "json" };
import a2aErrors from "./server-a2a-v1/a2a-errors.json" with { type: "json" };
import a2aJson from "./server-a2a-v1/a2a-json.json" with { type: "json" };
import a2aMessage from "./server-a2a-v1/a2a-message.json" with { type: "json" };
import a2aPush from "./server-a2a-v1/a2a-push.json" with { type: "json" };
import a2aStream from "./server-a2a-v1/a2a-stream.json" with { type: "json" };
import a2aTask from "./server-a2a-v1/a2a-task.json" with { type: "json" };
import appendixA from "./server-a2a-v1/appendix-a.json" with { type: "json" };
import card from "./server-a2a-v1/card.json" with { type: "json" };
import command from "./server-a2a-v1/command.json" with { type: "json" };
import errors from "./server-a2a-v1/errors.json" with { type: "json" };
import json from "./server-a2a-v1/json.json" with { type: "json" };
import push from "./server-a2a-v1/push.json" with { type: "json" };
import session from "./server-a2a-v1/session.json" with { type: "json" };
import stream from "./server-a2a-v1/stream.json" with { type: "json" };
import tool from "./server-a2a-v1/tool.json" with { type: "json" };

/**
 * The cases for servers of A2A 1.0: a suite for each group of requirements, in
 * the order in which they are played.
 */
export const SERVER_A2A_V1: readonly JsonValue[] = [
  a2aCard,
  a2aAccess,
  a2aMessage,
  a2aStream,
  a2aTask,
  a2aPush,
  a2aErrors,
  a2aJson,
  card,
  session,
  stream,
  appendixA,
  tool,
  json,
  errors,
  command,
  push,
];
