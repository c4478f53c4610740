import { randomUUID } from "node:crypto";
import { Role, SendMessageRequest, StreamResponse } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const [url, prompt] = process.argv.slice(2);
const client = await new ClientFactory().createFromUrl(url);
const request = SendMessageRequest.fromJSON({
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ text: prompt }],
  },
});
for await (const event of client.sendMessageStream(request)) {
  console.log(JSON.stringify(StreamResponse.toJSON(event)));
}
