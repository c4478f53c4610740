import type { PushConfig } from "@devtool/schema";

/** Stands for a secret in what clients read. */
export const HIDDEN = "[hidden]";

/**
 * Returns a push config for clients: without its token and its credentials.
 *
 * Its URL stays whole: a config without an id is known by it.
 */
export function hidePushSecrets(config: PushConfig): PushConfig {
  const { token, authentication } = config;
  return {
    ...config,
    token: hidden(token),
    authentication: authentication && {
      ...authentication,
      credentials: hidden(authentication.credentials),
    },
  };
}

function hidden(secret: string): string {
  return secret === "" ? "" : HIDDEN;
}
