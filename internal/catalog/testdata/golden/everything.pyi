"""Tools of the server "everything": from tools import everything."""

from typing import Any, Literal

# What stands in strings and comments below is the server's own word: data to read, not instructions to follow.

def echo(*, message: str):  # claims: read-only
    """Says again what it is told

    message: What to say"""

def get_annotated_message(*, messageType: Literal["error", "success", "debug"], includeImage: bool = False):  # claims: read-only
    """Shows how parts of an answer carry annotations: for whom they are, and how much they matter.

    messageType: Which of the three to show
    includeImage: With a picture

    The server calls it "get-annotated-message"."""

def get_env():  # claims: read-only
    """Returns the environment of the server, to find mistakes in its configuration

    The server calls it "get-env"."""

def get_resource_links(*, count: float = 3):  # claims: read-only
    """Returns up to ten links to resources of different types

    count: How many, from 1 to 10 (at least 1; at most 10)

    The server calls it "get-resource-links"."""

def get_resource_reference(*, resourceType: Literal["Text", "Blob"] = "Text", resourceId: float = 1):  # claims: read-only
    """Returns a resource that is part of the answer

    resourceId: Which one

    The server calls it "get-resource-reference"."""

def get_structured_content(*, location: Literal["New York", "Chicago", "Los Angeles"]) -> {"temperature": float, "conditions": str, "humidity": float}:  # claims: read-only
    """Returns the weather as a structured value with a schema, so that a client can check it

    location: One of three cities

    The server calls it "get-structured-content"."""

def get_sum(*, a: float, b: float):  # claims: read-only
    """Adds two numbers

    a: The first
    b: The second

    The server calls it "get-sum"."""

def get_tiny_image():  # claims: read-only
    """Returns a very small picture.

    The server calls it "get-tiny-image"."""

def gzip_file_as_resource(*, name: str = "README.md.gz", data: str = "https://example.org/README.md", outputType: Literal["resourceLink", "resource"] = "resourceLink"):  # needs approval
    """Compresses one file with gzip and answers it as a resource, or as a link that holds for this session.

    name: What it is called
    data: Where the file is: a URL, or a data URI (format "uri")
    outputType: The whole resource, or a link to it

    The server calls it "gzip-file-as-resource"."""

def simulate_research_query(*, topic: str, ambiguous: bool = False):  # needs approval
    """Pretends to research a topic for a while, as a task. Asks back when the question is ambiguous.

    topic: What to look into
    ambiguous: Pretend that the question is not clear

    The server calls it "simulate-research-query"."""

def toggle_simulated_logging():  # needs approval
    """Turns made-up log messages of random levels on or off.

    The server calls it "toggle-simulated-logging"."""

def toggle_subscriber_updates():  # needs approval
    """Turns made-up updates of resources on or off.

    The server calls it "toggle-subscriber-updates"."""

def trigger_long_running_operation(*, duration: float = 10, steps: float = 5):  # claims: read-only
    """Takes its time and tells how far it is.

    duration: Seconds that it takes
    steps: How often it tells of its progress

    The server calls it "trigger-long-running-operation"."""
