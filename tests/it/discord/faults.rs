//! What Discord does to its apps, and how it is lived through (the D-scenarios).
