import { Code, ConnectError } from "@connectrpc/connect";

/**
 * The maximum length of an answer in characters: room for a long task with its
 * whole history.
 */
const MAX_ANSWER_CHARS = 128 * 1024 * 1024;

/**
 * Reads the body of a response as text. Throws `Code.DataLoss` for one that is
 * too long, and closes its connection: an agent may answer without end.
 */
export async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_ANSWER_CHARS) {
        const message = `the agent's answer has more than ${MAX_ANSWER_CHARS} characters: limit is ${MAX_ANSWER_CHARS}`;
        throw new ConnectError(message, Code.DataLoss);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
