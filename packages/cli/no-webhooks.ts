/**
 * Takes the place of `standardwebhooks` in the bundle.
 *
 * Anthropic's SDK imports that package for webhooks, which this command does
 * not use. The package ships without the text of its licence.
 */
export class Webhook {
  constructor() {
    throw new Error(
      "webhooks are not part of this bundle: use the package @anthropic-ai/sdk",
    );
  }
}
