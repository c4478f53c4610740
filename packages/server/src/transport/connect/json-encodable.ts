import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { assertJsonEncodable } from "@devtool/schema";

/**
 * Refuses requests with values that only binary messages can hold: what is recorded is shown in every dialect, and most are JSON.
 */
export const refuseValuesWithoutJson: Interceptor = (next) => async (call) => {
  const { input } = call.method;
  if (call.stream) return next({ ...call, message: encodableMessages(input, call.message) });
  assertJsonEncodable(input, call.message);
  return next(call);
};

async function* encodableMessages<T extends Message>(input: DescMessage, messages: AsyncIterable<T>): AsyncIterable<T> {
  for await (const message of messages) {
    assertJsonEncodable(input, message);
    yield message;
  }
}
