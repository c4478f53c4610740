/**
 * The ceiling: a bare node:http server that writes, for `say N`, frames of the
 * size that ours have. No task, no disk.
 */
import { createServer } from "node:http";

const update = (text: string): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"3dc42f62-9bc6-47a9-b311-323de0ed1966","contextId":"099966f3-f531-4683-be2e-e122bb2b2f4c","status":{"state":"working","message":{"kind":"message","messageId":"3dc42f62-9bc6-47a9-b311-323de0ed1966:3","role":"agent","parts":[{"kind":"text","text":"${text}"}],"taskId":"3dc42f62-9bc6-47a9-b311-323de0ed1966","contextId":"099966f3-f531-4683-be2e-e122bb2b2f4c"},"timestamp":"2026-11-21T06:02:39.390Z"},"final":false,"metadata":{"https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md":{"kind":"TEXT_CONTENT","model":"scripted"}}}}`;

const server = createServer(async (request, response) => {
  if (request.method === "GET") return void response.end("{}");
  let body = "";
  for await (const chunk of request) body += chunk;
  const count = Number(/say (\d+)/.exec(body)?.[1] ?? 1);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let index = 1; index <= count; index++) {
    if (
      !response.write(`id: ${index}\ndata: ${update(`chunk ${index} `)}\n\n`)
    ) {
      await new Promise((resolve) => response.once("drain", resolve));
    }
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  process.stdout.write(
    `${JSON.stringify({ url: `http://127.0.0.1:${port}`, token: "" })}\n`,
  );
});
process.on("SIGTERM", () => process.exit(0));
