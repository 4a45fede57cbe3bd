# The official SDKs of the providers of models, of the versions that speak the APIs as the program does: Anthropic's from 2 on
# speaks another version of its API. `python` has them.
python_packages sdk 'openai==3.57.0' 'anthropic==1.17.0' 'google-genai==3.6.1' 'mcp==2.3.0'
