import {
  changePlainAnswers,
  changeRequests,
  type Fault,
  fault,
  isPlain,
} from "./fault.ts";

/**
 * Faults of A2A itself that a plain server (../plain/faults.ts) cannot have: of
 * the extended card, of tenants, and of A2A 0.3 over HTTP+JSON.
 */
export const A2A: readonly Fault[] = [
  fault(
    "A2A03-AUTH-CHALLENGE",
    "refusals are forbidden",
    { head: ({ status }) => ({ status: status === 401 ? 403 : status }) },
    ["ERR-1"],
  ),
  {
    ...fault("A2A03-GET", "the list of tasks is empty", {
      body: (text, { method, path }) =>
        method === "GET" && path.startsWith("/v1/tasks?")
          ? '{"tasks":[]}'
          : text,
    }),
    binding: "HTTP+JSON",
  },
  {
    ...fault(
      "A2A03-PUSH-CONFIG",
      "configs are listed under other ids over HTTP+JSON",
      {
        body: (text, sent) =>
          sent.method === "GET" &&
          sent.path.endsWith("/pushNotificationConfigs") &&
          isPlain(sent)
            ? text.replace('"id":"one"', '"id":"uno"')
            : text,
      },
    ),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A03-EXTENDED-CARD",
    "the extended card has no version",
    changePlainAnswers("agent/getAuthenticatedExtendedCard", (text) =>
      text.replace('"version":', '"release":'),
    ),
  ),
  fault(
    "A2A1-TENANT",
    "tasks do not stay in their tenant",
    changeRequests((body) =>
      body.includes('"method":"GetTask"')
        ? body.replace('"tenant":"conformance"', '"tenant":""')
        : body,
    ),
  ),
  fault(
    "A2A1-TENANT-SCOPE",
    "tenants see each other's tasks",
    changeRequests((body) =>
      body.replace('"tenant":"another"', '"tenant":"conformance"'),
    ),
  ),
];
