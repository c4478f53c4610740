/**
 * A plain client of A2A 0.3 and 1.0 over JSON-RPC, without an SDK: it sends a
 * prompt to an agent, and prints each element of the answer as JSON.
 * `plain-client.test.ts` changes single lines of it.
 */
const [url, prompt] = process.argv.slice(2);
let found = await fetch(`${url}/.well-known/agent-card.json`);
if (!found.ok) found = await fetch(`${url}/.well-known/agent.json`);
const card = await found.json();
const is1 = card.supportedInterfaces !== undefined;
const main = { url: card.url, transport: card.preferredTransport ?? "JSONRPC" };
const interfaces = card.supportedInterfaces ?? [
  main,
  ...(card.additionalInterfaces ?? []),
];
const chosen = interfaces.find((each) =>
  /^jsonrpc$/i.test(each.protocolBinding ?? each.transport),
);
const endpoint = new URL(chosen.url, url);
if (endpoint.hostname === "0.0.0.0") endpoint.hostname = new URL(url).hostname;

async function call(method, params) {
  const headers = {
    "content-type": "application/json",
    "a2a-version": is1 ? "1.0" : "0.3",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(endpoint, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`);
  const isStream = response.headers
    .get("content-type")
    .includes("event-stream");
  return (isStream ? eventsOf(text) : [text])
    .filter(isJson)
    .map((data) => JSON.parse(data));
}

/** The data of the events of a stream. */
function eventsOf(text) {
  const lines = text.replace(/^\ufeff/, "").replaceAll(/\r\n?/g, "\n");
  return lines
    .split("\n\n")
    .map((event) => event.replaceAll(/^(?!data:).*\n?|^data: ?/gm, ""));
}

function isJson(data) {
  return data.startsWith("{");
}

function show({ result, error }) {
  if (error) throw new Error(error.message);
  console.log(JSON.stringify(result));
  const {
    status,
    id,
    taskId = id,
  } = result.task ?? result.statusUpdate ?? result;
  if (status && !/completed/i.test(state)) {
    [task, state] = [taskId, status.state];
  }
}

let [task, state] = ["", ""];
const part = is1 ? { text: prompt } : { kind: "text", text: prompt };
const message = {
  messageId: "m1",
  role: is1 ? "ROLE_USER" : "user",
  parts: [part],
};
const answers = await call(is1 ? "SendStreamingMessage" : "message/stream", {
  message,
});
for (const answer of answers) show(answer);
while (/submitted|working/i.test(state)) {
  show((await call(is1 ? "GetTask" : "tasks/get", { id: task }))[0]);
}
