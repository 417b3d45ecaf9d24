"""Small programs that go wrong in other tools, each with its kind; expected values by eager runs or by reasoning."""
