import { type FormEvent, type ReactNode, useState } from "react";
import { pairDevice } from "./access.ts";
import { createTransport } from "./console-client.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

/**
 * The page of a browser without access: it takes the code of a device, and says
 * how to get access otherwise.
 */
export function NoAccess({ failed }: { readonly failed: boolean }): ReactNode {
  return (
    <main className="no-access">
      <h1>{words.accessTitle}</h1>
      {failed && <p role="alert">{words.accessFailed}</p>}
      <p>{words.accessText}</p>
      <pre>
        <code>devtool console</code>
      </pre>
      <PairingForm />
    </main>
  );
}

/** Takes the code that `devtool pair` shows, and opens the console with it. */
function PairingForm(): ReactNode {
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    pairDevice(createTransport(""), code).then(
      () => location.reload(),
      (reason: unknown) => setProblem(problemText(reason)),
    );
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="pairing-code">{words.pairingCode}</label>
      <pre>
        <code>devtool pair</code>
      </pre>
      <input
        id="pairing-code"
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
        autoComplete="one-time-code"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={16}
        required
      />
      <button type="submit" className="primary">
        {words.pair}
      </button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
