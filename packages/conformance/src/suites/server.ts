import type { JsonObject } from "@bufbuild/protobuf";
import a2aAccess from "./server/a2a-access.json" with { type: "json" };
import a2aCard from "./server/a2a-card.json" with { type: "json" };
import a2aErrors from "./server/a2a-errors.json" with { type: "json" };
import a2aJson from "./server/a2a-json.json" with { type: "json" };
import a2aMessage from "./server/a2a-message.json" with { type: "json" };
import a2aPush from "./server/a2a-push.json" with { type: "json" };
import a2aStream from "./server/a2a-stream.json" with { type: "json" };
import a2aTask from "./server/a2a-task.json" with { type: "json" };
import appendixA from "./server/appendix-a.json" with { type: "json" };
import card from "./server/card.json" with { type: "json" };
import command from "./server/command.json" with { type: "json" };
import errors from "./server/errors.json" with { type: "json" };
import json from "./server/json.json" with { type: "json" };
import push from "./server/push.json" with { type: "json" };
import session from "./server/session.json" with { type: "json" };
import stream from "./server/stream.json" with { type: "json" };
import tool from "./server/tool.json" with { type: "json" };

/**
 * The cases for servers: a suite for each group of requirements, in the order
 * in which they are played. A case without a version is for all of them.
 */
export const SERVER_SUITES: readonly JsonObject[] = [
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
