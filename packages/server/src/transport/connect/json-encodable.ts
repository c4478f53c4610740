import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { assertJsonEncodable } from "@devtool/schema";

/**
 * Refuses requests with values that only binary messages can hold: what is recorded is shown in every dialect, and most are JSON.
 */
export const refuseValuesWithoutJson: Interceptor = (next) => async (call) => {
  const { input } = call.method;
  if (!call.stream) {
    assertJsonEncodable(input, call.message);
    return next(call);
  }
  const checkEach = async function* <T extends Message>(messages: AsyncIterable<T>): AsyncIterable<T> {
    for await (const message of messages) {
      assertJsonEncodable(input, message);
      yield message;
    }
  };
  return next({ ...call, message: checkEach(call.message) });
};
