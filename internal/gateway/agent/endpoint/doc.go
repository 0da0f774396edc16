// Package endpoint reaches the models that agent asks: OpenAI-compatible ones (chat
// completions) and Anthropic's (messages), in plain HTTP and JSON.
//
// What belongs here: the two wire formats, the credential, repeated tries, and what every
// failure of an endpoint means. What does not: what is said to a model and what is made of
// its reply.
//
// # Invariants
//
//   - The credential is read from the environment for each request. It goes into one header
//     field of requests to the configured address and nowhere else: redirects are errors,
//     errors and replies are cleared of it, and over plain HTTP it goes to this machine alone.
//   - Nothing that an endpoint sends is unbounded: not its reply, not the wait it asks for.
//   - A request has no settings that some endpoints refuse (temperature, limits of tokens
//     where they may be left out), so that one form does for all.
package endpoint
