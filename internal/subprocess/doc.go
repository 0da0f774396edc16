// Package subprocess runs helper programs that do not outlive the process that
// started them, however that ends. What is to be run, and what its output means, is
// the caller's business. Sandboxes start their processes themselves.
package subprocess
