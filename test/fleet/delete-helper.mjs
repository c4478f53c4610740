/** An agent that another one calls. */
export const agent = {
  about: { name: "helper", description: "Answers." },
  open: () => ({
    createExecutor: () => ({
      async *execute() {
        yield { case: "text", value: "helped" };
      },
    }),
  }),
};
