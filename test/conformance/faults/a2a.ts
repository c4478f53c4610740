import {
  changePlainAnswers,
  changeRequests,
  type Faults,
  isPlain,
} from "./fault.ts";

/**
 * Faults of A2A itself that a plain server (../plain/faults.ts) cannot have: of
 * the extended card, of tenants, and of A2A 0.3 over HTTP+JSON.
 */
export const A2A: Faults = {
  "A2A03-AUTH-CHALLENGE": {
    "refusals are forbidden": {
      spoil: {
        head: ({ status }) => ({ status: status === 401 ? 403 : status }),
      },
      also: ["ERR-1"],
    },
  },
  "A2A03-GET": {
    "the list of tasks is empty": {
      spoil: {
        body: (text, { method, path }) =>
          method === "GET" && path.startsWith("/v1/tasks?")
            ? '{"tasks":[]}'
            : text,
      },
      binding: "HTTP+JSON",
    },
  },
  "A2A03-PUSH-CONFIG": {
    "configs are listed under other ids over HTTP+JSON": {
      spoil: {
        body: (text, sent) =>
          sent.method === "GET" &&
          sent.path.endsWith("/pushNotificationConfigs") &&
          isPlain(sent)
            ? text.replace('"id":"one"', '"id":"uno"')
            : text,
      },
      binding: "HTTP+JSON",
    },
  },
  "A2A03-EXTENDED-CARD": {
    "the extended card has no version": changePlainAnswers(
      "agent/getAuthenticatedExtendedCard",
      (text) => text.replace('"version":', '"release":'),
    ),
  },
  "A2A1-TENANT": {
    "tasks do not stay in their tenant": changeRequests((body) =>
      body.includes('"method":"GetTask"')
        ? body.replace('"tenant":"conformance"', '"tenant":""')
        : body,
    ),
  },
  "A2A1-TENANT-SCOPE": {
    "tenants see each other's tasks": changeRequests((body) =>
      body.replace('"tenant":"another"', '"tenant":"conformance"'),
    ),
  },
};
