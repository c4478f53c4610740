import { randomUUID } from "node:crypto";
import { ClientFactory } from "a2a-js-sdk-03/client";

const [url, prompt] = process.argv.slice(2);
const client = await new ClientFactory().createFromUrl(url);
const message = {
  kind: "message",
  messageId: randomUUID(),
  role: "user",
  parts: [{ kind: "text", text: prompt }],
};
for await (const event of client.sendMessageStream({ message })) {
  console.log(JSON.stringify(event));
}
